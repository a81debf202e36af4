namespace Weir.Lab.Report.Tables;

/// <summary>A place where threads of the work waited.</summary>
/// <param name="Method">The method that waited: the innermost that is not a part of the waiting itself.</param>
/// <param name="For">What it waited for, in words.</param>
/// <param name="Samples">In how many samples.</param>
internal sealed record WaitPlace(string Method, string For, int Samples)
{
    private static readonly (string Frame, string For)[] Causes =
    [
        ("System.Collections.Concurrent.BlockingCollection", "a blocking collection"),
        ("System.Threading.Tasks.Task.", "a task: blocks its thread"),
        ("System.Threading.Tasks.Task`1", "a task: blocks its thread"),
        ("System.Threading.ReaderWriterLock", "a reader-writer lock"),
        ("System.Threading.SemaphoreSlim.", "a semaphore"),
        ("System.Threading.Barrier.", "a barrier"),
        ("System.Threading.CountdownEvent.", "a countdown"),
        ("System.Threading.ManualResetEventSlim.", "an event or a pulse"),
        ("System.Threading.Monitor.Wait", "an event or a pulse"),
        ("System.Threading.Monitor.", "a lock"),
        ("System.Threading.Lock.", "a lock"),
        ("System.Threading.SpinLock.", "a lock"),
        ("System.Threading.Thread.Join", "a thread"),
        ("System.Threading.Thread.Sleep", "a sleep"),
        ("System.Threading.SpinWait.", "a condition it spins for"),
        ("System.Threading.WaitHandle.", "a wait handle"),
        ("Interop", "a call of the system"),
    ];

    /// <summary>The places, first that with most samples.</summary>
    public static IReadOnlyList<WaitPlace> Of(IReadOnlyList<ProfileStack> waits) =>
    [
        .. waits.Select(static w => (Place: PlaceOf(w.Path), w.Samples)).GroupBy(static w => w.Place)
            .Select(static g => new WaitPlace(g.Key.Method, g.Key.For, g.Sum(static w => w.Samples)))
            .OrderByDescending(static w => w.Samples).ThenBy(static w => w.Method, StringComparer.Ordinal),
    ];

    // The first cause that any frame below the waiting method names: a task waits by an event, which waits by a monitor.
    private static (string Method, string For) PlaceOf(IReadOnlyList<string> path)
    {
        int own = path.Count - 1;
        while (own > 0 && IsOfTheWaiting(path[own]))
        {
            own--;
        }

        string[] inner = [.. path.Skip(own + 1)];
        (string? frame, string words) = Array.Find(Causes, c => Array.Exists(inner, f => f.StartsWith(c.Frame, StringComparison.Ordinal)));
        return (path[own], frame is null ? "a native call" : words);
    }

    private static bool IsOfTheWaiting(string frame) => frame.StartsWith("System.", StringComparison.Ordinal)
        || frame.StartsWith("Interop", StringComparison.Ordinal) || frame.StartsWith("Microsoft.Win32.", StringComparison.Ordinal);
}
