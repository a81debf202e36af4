using System.Collections;

namespace Weir.Core.Sources;

/// <summary>A queue of work in the form that runtimes take. Runs know it and read the queue itself.</summary>
internal sealed class WorkQueueItems<T>(WorkQueue<T> queue) : IReadAsSource<T>
{
    public WorkQueue<T> Queue => queue;

    public Source<T> MakeSource() => new WorkQueueItemSource<T>(queue);

    public IEnumerator<T> GetEnumerator()
    {
        queue.BeginReading();
        try
        {
            while (true)
            {
                while (queue.TryTake(out T? item))
                {
                    yield return item;
                    queue.Ended(1);
                }

                if (!queue.WaitAsync(CancellationToken.None).AsTask().GetAwaiter().GetResult())
                {
                    yield break;
                }
            }
        }
        finally
        {
            queue.EndReading([]);
        }
    }

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
}
