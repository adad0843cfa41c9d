package shell

// useBash: the bash on a Windows PATH may be that of WSL, which sees other files.
const useBash = false

const lastShell = "powershell.exe"
