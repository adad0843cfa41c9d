package shell

// useBash is false, because the bash on a Windows PATH may be the one of WSL, which sees other
// files.
const useBash = false

const lastShell = "powershell.exe"
