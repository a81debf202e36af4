namespace Weir.Lab.Resources;

/// <summary>Waits until the runtime's compiler is idle, and leaves the processors to it.</summary>
/// <remarks>
/// Code that is called often is compiled again in the background, 100 ms after the last new method was called, or at once where the runtime was told so.
/// Workers that keep all processors busy leave little to that thread: it would go on into the measured windows.
/// </remarks>
internal static class CompilerRest
{
    /// <summary>The variable that tells the runtime how many milliseconds to wait for more new code before it counts calls.</summary>
    public const string DelayVariable = "DOTNET_TC_CallCountingDelayMs";

    /// <summary>Whether the runtime waits. Measuring processes are told not to, which makes code no different, only earlier.</summary>
    public static bool IsDelayed { get; } = Environment.GetEnvironmentVariable(DelayVariable) != "0";

    /// <summary>How long the compiler is left alone at most, each time.</summary>
    public static TimeSpan Longest { get; } = TimeSpan.FromSeconds(1);

    /// <summary>Longer than the runtime waits for more code before it compiles again.</summary>
    private static readonly TimeSpan Quiet = TimeSpan.FromMilliseconds(IsDelayed ? 120 : 50);

    private static readonly TimeSpan Step = TimeSpan.FromMilliseconds(IsDelayed ? 20 : 10);

    /// <summary>Waits until nothing has been compiled for a while.</summary>
    /// <param name="longest">When to give up.</param>
    /// <param name="cancellationToken">Ends the waiting at once; it is not an error.</param>
    public static Task WaitAsync(TimeSpan longest, CancellationToken cancellationToken) =>
        WaitAsync(static () => JitInfo.GetCompiledMethodCount(), TimeProvider.System, longest, cancellationToken);

    internal static async Task WaitAsync(Func<long> compiled, TimeProvider time, TimeSpan longest, CancellationToken cancellationToken)
    {
        long start = time.GetTimestamp();
        long since = start;
        long last = compiled();
        while (time.GetElapsedTime(since) < Quiet && time.GetElapsedTime(start) < longest && !cancellationToken.IsCancellationRequested)
        {
            await Task.Delay(Step, time, cancellationToken).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            long now = compiled();
            if (now != last)
            {
                last = now;
                since = time.GetTimestamp();
            }
        }
    }
}
