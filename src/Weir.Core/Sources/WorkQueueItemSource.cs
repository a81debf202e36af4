using System.Diagnostics.CodeAnalysis;

namespace Weir.Core.Sources;

/// <summary>The items of a queue of work, one by one.</summary>
internal sealed class WorkQueueItemSource<T>(WorkQueue<T> queue) : WorkQueueSource<T, T>(queue)
{
    protected override bool TryTake([MaybeNullWhen(false)] out T item) => Queue.TryTake(out item);

    protected override IReadOnlyCollection<T> ItemsOf(T item) => [item];
}
