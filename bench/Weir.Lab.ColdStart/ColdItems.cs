namespace Weir.Lab.ColdStart;

/// <summary>The items, and what is done with one: the same for all arms.</summary>
internal static class ColdItems
{
    public static int[] Numbers()
    {
        int[] items = new int[ColdArms.Count];
        for (int i = 0; i < items.Length; i++)
        {
            items[i] = i + 1;
        }

        return items;
    }

    /// <summary>Texts as long as the numbers say.</summary>
    public static string[] Texts()
    {
        string[] items = new string[ColdArms.Count];
        for (int i = 0; i < items.Length; i++)
        {
            items[i] = new string('x', i + 1);
        }

        return items;
    }

    public static async ValueTask<int> TwiceAsync(int item, CancellationToken cancellationToken)
    {
        await Task.Yield();
        return item * 2;
    }

    public static async ValueTask<string> TwiceAsync(string item, CancellationToken cancellationToken)
    {
        await Task.Yield();
        return item + item;
    }

    public static long SumOf(IReadOnlyList<int> results)
    {
        long sum = 0;
        for (int i = 0; i < results.Count; i++)
        {
            sum += results[i];
        }

        return sum;
    }

    public static long SumOf(IReadOnlyList<string> results)
    {
        long sum = 0;
        for (int i = 0; i < results.Count; i++)
        {
            sum += results[i].Length;
        }

        return sum;
    }
}
