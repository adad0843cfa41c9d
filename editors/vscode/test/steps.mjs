// Lists the steps of the end-to-end test. Each step is independent. It begins without editors, and
// has its own folder and session. Each group of steps has a fresh workbench with a new server, user
// and extension. THEME selects a theme other than the default.
import { allFilesSteps } from './steps/allfiles.mjs';
import { choiceSteps } from './steps/choices.mjs';
import { conversationSteps } from './steps/conversation.mjs';
import { demoSteps } from './steps/demo.mjs';
import { detailSteps } from './steps/details.mjs';
import { looksSteps } from './steps/looks.mjs';
import { prices } from './steps/model.mjs';
import { newUser, newUserByKeyboard, newUserByMouse } from './steps/newuser.mjs';
import { paletteSteps } from './steps/palette.mjs';
import { panelSteps } from './steps/panel.mjs';
import { readerSteps } from './steps/reader.mjs';
import { reviewSteps } from './steps/review.mjs';
import { setupSteps } from './steps/setup.mjs';
import { surroundingSteps } from './steps/surroundings.mjs';
import { trialSteps } from './steps/trial.mjs';
import { userSteps } from './steps/user.mjs';
import { withoutBinary, withoutBinarySteps } from './steps/withoutbinary.mjs';
import { calmSettings } from './workbench.mjs';

const settings = {
  'security.workspace.trust.enabled': false,
  'agentLsp.windows': { '*': 100_000 },
  'agentLsp.prices': prices,
  ...calmSettings,
};
if (process.env.THEME) settings['workbench.colorTheme'] = process.env.THEME;

export const groups = [
  { ...newUser, steps: [['new user by mouse', newUserByMouse]] },
  { ...newUser, steps: [['new user by keyboard', newUserByKeyboard]] },
  { ...withoutBinary, settings, steps: withoutBinarySteps },
  {
    settings,
    steps: [
      ...reviewSteps,
      ...allFilesSteps,
      ...conversationSteps,
      ...panelSteps,
      ...readerSteps,
      ...choiceSteps,
      ...demoSteps,
      ...setupSteps,
      ...trialSteps,
      ...detailSteps,
      ...paletteSteps,
      ...userSteps,
      ...looksSteps,
      ...surroundingSteps,
    ],
  },
];
