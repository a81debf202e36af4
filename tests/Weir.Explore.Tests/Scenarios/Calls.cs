namespace Weir.Explore.Tests.Scenarios;

/// <summary>Calls and items that go on elsewhere once.</summary>
internal sealed class Calls
{
    private int _made;

    public int Made => _made;

    public static async ValueTask<int> YieldedAsync(int item, CancellationToken token)
    {
        await Task.Yield();
        return item;
    }

    public static async IAsyncEnumerable<int> ItemsAsync(int[] items)
    {
        foreach (int item in items)
        {
            await Task.Yield();
            yield return item;
        }
    }

    public async ValueTask CountedAsync(int item, CancellationToken token)
    {
        await Task.Yield();
        Interlocked.Increment(ref _made);
    }
}
