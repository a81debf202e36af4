/// <summary>Runs before the program that is walked through: what that starts is not listed. The runtime finds it by its name, without a namespace.</summary>
internal static class StartupHook
{
    public static void Initialize()
    {
        foreach (string name in (string[])["DOTNET_JitStdOutFile", "DOTNET_JitDisasmSummary", "DOTNET_STARTUP_HOOKS"])
        {
            Environment.SetEnvironmentVariable(name, null);
        }
    }
}
