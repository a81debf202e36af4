namespace Weir.Delivery.Cli.Commands.Cdc.Targets;

/// <summary>Publishes lines. Each keeps its identity, so that one which is published again can be told, and the key of its order.</summary>
internal sealed class QueueLines(IWorkSink<string> queue) : IWorkSink<ChangeLine>
{
    public ValueTask WriteAsync(IReadOnlyList<WorkItem<ChangeLine>> items, string? position, CancellationToken cancellationToken) =>
        items.Count == 0 ? default : queue.WriteAsync([.. items.Select(static i => i.With(i.Value.Json))], position: null, cancellationToken);

    public ValueTask DisposeAsync() => queue.DisposeAsync();
}
