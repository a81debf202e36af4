namespace Weir.Lab.Suites.Workloads;

/// <summary>A server in the process: some slots and a queue in front of them, so that the latency grows with the calls in flight beyond the slots.</summary>
internal static class SlotServer
{
    /// <summary>A call of it that holds a slot for 12 to 28 ms, 20 on average, as the item says.</summary>
    public static ItemCall Call(int slots)
    {
        SemaphoreSlim free = new(slots);
        return async (item, token) =>
        {
            await free.WaitAsync(token);
            try
            {
                await Task.Delay(12 + (4 * (item * 3 % 5)), token);
                return item * 2;
            }
            finally
            {
                free.Release();
            }
        };
    }
}
