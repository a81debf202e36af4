namespace Weir.Tables.Servers.Turns;

/// <summary>Items of a source through a host with its default options, up to its end.</summary>
internal static class HostPass
{
    /// <summary>Handles items until there were so many, and lets the host end.</summary>
    /// <param name="source">Where they come from; it is disposed of.</param>
    /// <param name="options">Those that the host needs.</param>
    /// <param name="items">How many there are.</param>
    /// <param name="handle">Handles one. It is called by several threads at once.</param>
    /// <param name="stop">Ends it.</param>
    /// <returns>How long it took, with the end of the host, which has acknowledged everything by then.</returns>
    public static async Task<TimeSpan> RunAsync<T>(
        IWorkSource<T> source, WorkHostOptions<T> options, long items, Action<T> handle, CancellationToken stop)
    {
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(stop);
        await using (source)
        {
            await using ConcurrentRuntime runtime = new();
            WorkHost<T> host = new(
                source,
                runtime,
                (item, _) =>
                {
                    handle(item.Value);
                    return default;
                },
                options);
            long started = Stopwatch.GetTimestamp();
            Task running = host.RunAsync(end.Token);

            // The host counts its items anyway. A count in the handler would be one more that all threads write to, once an item.
            while (host.Statistics.Succeeded < items && !running.IsCompleted)
            {
                await Task.Delay(1, CancellationToken.None);
            }

            await end.CancelAsync();
            await running;
            return Stopwatch.GetElapsedTime(started);
        }
    }
}
