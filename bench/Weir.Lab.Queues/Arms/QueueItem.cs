using System.Globalization;

namespace Weir.Lab.Queues.Arms;

/// <summary>What goes through a queue: about 100 bytes and one item a message, or a job with the numbers of many items.</summary>
/// <param name="Number">Which of the items, or jobs, it is: from 0.</param>
/// <param name="Text">The rest of its bytes; of a job, the numbers of its items.</param>
public sealed record QueueItem(int Number, string Text)
{
    private static readonly string Rest = new('x', 80);

    /// <summary>Makes an item.</summary>
    public static QueueItem Of(int number) => new(number, Rest);

    /// <summary>Makes a job of items.</summary>
    /// <param name="job">The number of the job.</param>
    /// <param name="first">The number of its first item.</param>
    /// <param name="count">How many items it has.</param>
    public static QueueItem OfItems(int job, int first, int count) =>
        new(job, string.Join(',', Enumerable.Range(first, count).Select(static number => number.ToString(CultureInfo.InvariantCulture))));

    /// <summary>The numbers of the items of a job.</summary>
    public int[] ReadItems() => [.. Text.Split(',').Select(static number => int.Parse(number, CultureInfo.InvariantCulture))];
}
