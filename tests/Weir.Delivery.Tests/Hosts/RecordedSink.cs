namespace Weir.Delivery.Tests.Hosts;

/// <summary>A sink that notes what it gets.</summary>
internal sealed class RecordedSink : IWorkSink<string>
{
    public List<(string[] Values, string? Position)> Writes { get; } = [];

    public Action OnWrite { get; init; } = static () => { };

    public ValueTask WriteAsync(IReadOnlyList<WorkItem<string>> items, string? position, CancellationToken cancellationToken)
    {
        OnWrite();
        Writes.Add(([.. items.Select(static i => i.Value)], position));
        return default;
    }

    public ValueTask DisposeAsync() => default;
}
