namespace Weir.Lab.Workers;

/// <summary>
/// What a window's workers allocate themselves, measured beside: threads and loops are made anew for each window, and with few operations their bytes would
/// count for much.
/// </summary>
internal static class IdleWindow
{
    private const int Windows = 5;
    private static readonly TimeSpan Length = TimeSpan.FromMilliseconds(1);

    /// <summary>Bytes of a window in which the workers do nothing: the median of several.</summary>
    /// <param name="spec">The workers.</param>
    /// <param name="asyncGroups">The groups whose operations are awaited.</param>
    /// <param name="count">How many operations each worker does, instead of a time.</param>
    /// <param name="cancellationToken">Stops it.</param>
    /// <param name="like">The operation whose loop is meant, if there is only one; loops of different results differ in size.</param>
    public static long Bytes(
        WorkerRunSpec spec, IReadOnlySet<string> asyncGroups, long? count, CancellationToken cancellationToken, Operation? like = null)
    {
        Operation onThread = like?.Empty() ?? Operation.Of(static () => { });
        Operation awaited = like?.Empty() ?? Operation.OfAsync(static () => default(ValueTask));
        Workload idle = new("idle", c => asyncGroups.Contains(c.Group) ? awaited : onThread);
        WorkerRunSpec unpaced = spec with { RatePerSecond = null, MaxInFlight = null, MeasuresLatency = false };
        WindowPlan plan = new(0, Length, spec.Groups.ToDictionary(static g => g.Name, static _ => 1))
        {
            Whole = count is null ? null : new WholeOperations { Each = count }, HasTimeline = false,
        };

        // Without the first, which allocates what is then there for all that follow.
        long[] bytes = new long[Windows];
        for (int i = -1; i < Windows && !cancellationToken.IsCancellationRequested; i++)
        {
            bytes[Math.Max(i, 0)] = WindowRunner.Run(unpaced, idle, plan, cancellationToken).Bytes;
        }

        Array.Sort(bytes);
        return bytes[Windows / 2];
    }
}
