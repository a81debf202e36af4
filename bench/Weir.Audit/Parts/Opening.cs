namespace Weir.Audit.Parts;

/// <summary>Opens something of a server that may be away while a process starts.</summary>
internal static class Opening
{
    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(50);

    public static async Task<T> RunAsync<T>(Func<CancellationToken, ValueTask<T>> open, CancellationToken stop)
    {
        while (true)
        {
            try
            {
                return await open(stop);
            }
            catch (Exception e) when (e is not (OperationCanceledException or WorkSetupException or OutOfMemoryException))
            {
                await Task.Delay(Pause, stop);
            }
        }
    }
}
