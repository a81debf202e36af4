using System.Diagnostics.CodeAnalysis;

/// <summary>
/// Collects all the time, in each process that names this assembly in DOTNET_STARTUP_HOOKS: a test that asks a thing that nobody holds any more then fails at
/// each run, not once in thousands. The runtime looks for this name, without a namespace.
/// </summary>
[SuppressMessage("Design", "CA1050", Justification = "The runtime looks for it without a namespace.")]
internal static class StartupHook
{
    public static void Initialize() => new Thread(Collect) { IsBackground = true, Name = "collecting" }.Start();

    private static void Collect()
    {
        while (true)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();

            // Between two collections, or the tests would not get on. No test waits for this.
#pragma warning disable RS0030
            Thread.Sleep(1);
#pragma warning restore RS0030
        }
    }
}
