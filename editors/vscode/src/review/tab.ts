// Recognizes the tab that shows all pending changes in one multi-file diff.
import * as vscode from 'vscode';

/**
 * The title of the multi-file review. The title identifies the tab, because the tab's input does
 * not have its own type.
 */
export const reviewTitle = 'Pending changes by the agent';

export function isReviewTab(tab: vscode.Tab | undefined): boolean {
  return tab?.label.startsWith(reviewTitle) === true;
}

/** Reports whether the active tab is the review of all files. */
export function isReviewShown(): boolean {
  return isReviewTab(vscode.window.tabGroups.activeTabGroup.activeTab);
}

/**
 * Goes to the next or previous change in the review of all files, and scrolls to it. The first
 * change follows the last one.
 */
export async function stepInReview(by: 1 | -1): Promise<void> {
  const command = by > 0 ? 'goToNextChange' : 'goToPreviousChange';
  await vscode.commands.executeCommand(`multiDiffEditor.${command}`);
}

/** Keeps the context key for the buttons in the title of the review up to date. */
export function watchReviewTab(): vscode.Disposable {
  const update = () =>
    vscode.commands.executeCommand('setContext', 'agentLsp.reviewShown', isReviewShown());
  return vscode.Disposable.from(
    vscode.window.tabGroups.onDidChangeTabs(update),
    vscode.window.tabGroups.onDidChangeTabGroups(update),
  );
}
