package shell

// useBash is false, because the bash on a Windows PATH may belong to WSL, which has another file
// system.
const useBash = false

const lastShell = "powershell.exe"
