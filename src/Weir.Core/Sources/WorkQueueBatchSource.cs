using System.Diagnostics.CodeAnalysis;

namespace Weir.Core.Sources;

/// <summary>
/// Batches of a queue of work: what is queued, up to the size. A batch does not wait to be fuller, because more items may come only from this one.
/// </summary>
internal sealed class WorkQueueBatchSource<T>(WorkQueue<T> queue, int batchSize) : WorkQueueSource<T, IReadOnlyList<T>>(queue)
{
    protected override bool TryTake([MaybeNullWhen(false)] out IReadOnlyList<T> item)
    {
        if (!Queue.TryTake(out T? next))
        {
            item = null;
            return false;
        }

        List<T> batch = [next];
        while (batch.Count < batchSize && Queue.TryTake(out next))
        {
            batch.Add(next);
        }

        item = batch.ToArray();
        return true;
    }

    protected override IReadOnlyCollection<T> ItemsOf(IReadOnlyList<T> item) => item;
}
