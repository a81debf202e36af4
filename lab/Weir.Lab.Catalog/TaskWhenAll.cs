namespace Weir.Lab.Catalog;

/// <summary><c>Task.WhenAll</c> over a task per item, without and with a limit.</summary>
internal static class TaskWhenAll
{
    public static Task<int[]> UnboundedAsync(IEnumerable<int> source, ItemCall call) =>
        Task.WhenAll(source.Select(item => call(item, CancellationToken.None).AsTask()));

    public static async Task<int[]> WithSemaphoreAsync(IEnumerable<int> source, int limit, ItemCall call, CancellationToken token = default)
    {
        using SemaphoreSlim semaphore = new(limit);
        return await Task.WhenAll(source.Select(OneAsync));

        async Task<int> OneAsync(int item)
        {
            await semaphore.WaitAsync(token);
            try
            {
                return await call(item, token);
            }
            finally
            {
                semaphore.Release();
            }
        }
    }
}
