namespace Weir.Lab.Catalog;

/// <summary>A plain loop that awaits each item. Arrays and lists are looped over as such, because that is what one would write.</summary>
internal static class AwaitLoop
{
    public static Task<List<int>> RunAsync(IEnumerable<int> source, int count, ItemCall call) => source switch
    {
        int[] array => OverArray(array, call),
        List<int> list => OverList(list, call),
        _ => OverSequence(source, count, call),
    };

    public static async IAsyncEnumerable<int> Stream(IEnumerable<int> source, ItemCall call)
    {
        foreach (int item in source)
        {
            yield return await call(item, CancellationToken.None);
        }
    }

    public static async IAsyncEnumerable<int> Stream(IAsyncEnumerable<int> source, ItemCall call)
    {
        await foreach (int item in source)
        {
            yield return await call(item, CancellationToken.None);
        }
    }

    /// <summary>The same, with cancellation between two items.</summary>
    public static async Task<int[]> StoppableAsync(int[] source, ItemCall call, CancellationToken token)
    {
        int[] results = new int[source.Length];
        for (int i = 0; i < source.Length; i++)
        {
            token.ThrowIfCancellationRequested();
            results[i] = await call(source[i], token);
        }

        return results;
    }

    private static async Task<List<int>> OverArray(int[] source, ItemCall call)
    {
        List<int> results = new(source.Length);
        foreach (int item in source)
        {
            results.Add(await call(item, CancellationToken.None));
        }

        return results;
    }

    private static async Task<List<int>> OverList(List<int> source, ItemCall call)
    {
        List<int> results = new(source.Count);
        foreach (int item in source)
        {
            results.Add(await call(item, CancellationToken.None));
        }

        return results;
    }

    private static async Task<List<int>> OverSequence(IEnumerable<int> source, int count, ItemCall call)
    {
        List<int> results = new(count);
        foreach (int item in source)
        {
            results.Add(await call(item, CancellationToken.None));
        }

        return results;
    }
}
