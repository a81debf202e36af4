namespace Weir.Audit.Parts;

/// <summary>The process that moves changes from the table into the queue.</summary>
internal static class Reader
{
    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(50);

    public static async Task RunAsync(ChangeStream stream, IAuditEngine engine, AuditScenario scenario, CancellationToken stop)
    {
        await using IWorkSink<string> sink = await Opening.RunAsync(token => engine.Queue.OpenSinkAsync(token), stop);
        await using IWorkSource<string> source = await Opening.RunAsync(stream.OpenAsync, stop);
        await Console.Out.WriteLineAsync(PartCommand.Ready);
        await using DirectRuntime runtime = new();
        WorkHost<string> host = WorkHost.Create(
            source, runtime, static (item, _) => new ValueTask<string>(item.Value), new KeyedSink(sink, scenario), Options(engine));
        await host.RunAsync(stop);
    }

    private static WorkHostOptions<string> Options(IAuditEngine engine) => new()
    {
        DeadLetters = engine.Queue.DeadLetters,
        Serializer = WorkSerializer.Text,
        GracePeriod = TimeSpan.FromSeconds(10),
        Retry = new RetryOptions { MaxRetries = 3, BaseDelay = Pause, MaxDelay = Pause, IsTransient = static _ => true },
    };

    /// <summary>Gives the items the key that the order is kept by, which is not that of the row.</summary>
    private sealed class KeyedSink(IWorkSink<string> queue, AuditScenario scenario) : IWorkSink<string>
    {
        public ValueTask WriteAsync(IReadOnlyList<WorkItem<string>> items, string? position, CancellationToken cancellationToken) => queue.WriteAsync(
            [.. items.Select(i => new WorkItem<string>(i.Id, i.Value, scenario.KeyOf(long.Parse(i.Value, CultureInfo.InvariantCulture))))],
            position: null,
            cancellationToken);

        public ValueTask DisposeAsync() => default;
    }
}
