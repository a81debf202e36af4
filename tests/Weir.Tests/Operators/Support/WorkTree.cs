namespace Weir.Tests.Operators.Support;

/// <summary>Queues of work that their own items fill: the numbers below a count, as a tree whose root is 0.</summary>
internal static class WorkTree
{
    /// <summary>A queue that has the root.</summary>
    public static WorkQueue<int> Begun()
    {
        WorkQueue<int> queue = new();
        queue.Add(0);
        return queue;
    }

    /// <summary>Adds the children of a number that are below the count. Of two, these are twice it plus one, and twice it plus two.</summary>
    public static void AddChildren(this WorkQueue<int> queue, int item, int count, int children = 2)
    {
        for (int child = (children * item) + 1; child <= (children * item) + children && child < count; child++)
        {
            queue.Add(child);
        }
    }

    /// <summary>Checks that nothing is queued or running, and that the queue knows that it has ended.</summary>
    public static void AssertEnded(this WorkQueue<int> queue) => Assert.Equal((0, 0, true), (queue.Count, queue.Running, queue.IsCompleted));
}
