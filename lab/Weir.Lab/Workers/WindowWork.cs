namespace Weir.Lab.Workers;

/// <summary>How much a worker did in a window: the one place that says what a rate counts.</summary>
internal static class WindowWork
{
    /// <summary>
    /// Operations that lie wholly in the window, and those that were under way at its ends by the share of their time that lies in it. A worker that
    /// is never idle does <c>length / duration</c> of them, however long they are; of whole operations only, there are up to one too many or too few.
    /// </summary>
    /// <param name="tally">What the worker counted. It ends the operation that is under way at the window's end.</param>
    /// <param name="batch">How many operations it did between two looks at the clock; they are taken to last equally long.</param>
    /// <param name="begin">When the window began.</param>
    /// <param name="end">When it ended.</param>
    public static double Of(in WorkerTally tally, int batch, long begin, long end)
    {
        double first = tally.FirstDone * ShareWithin(tally.FirstStart, tally.Start, begin, end);
        double outside = tally.LastEnd > end ? Math.Min(batch, tally.Operations) * (1 - ShareWithin(tally.LastStart, tally.LastEnd, begin, end)) : 0;
        return first + tally.Operations - outside;
    }

    private static double ShareWithin(long from, long to, long begin, long end) =>
        to <= from ? 1 : Math.Clamp((double)(Math.Min(to, end) - Math.Max(from, begin)) / (to - from), 0, 1);
}
