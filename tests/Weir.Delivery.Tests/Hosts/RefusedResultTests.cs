using System.Collections.Concurrent;
using Weir.Runtimes;
using static Weir.Delivery.Tests.Hosts.ListSource;

namespace Weir.Delivery.Tests.Hosts;

/// <summary>Results that the sink can never store.</summary>
public sealed class RefusedResultTests
{
    private const int Limit = 120_000;

    private readonly MemoryDeadLetters _dead = new();

    [Theory(Timeout = Limit)]
    [InlineData(AcknowledgementOrder.Delivery)]
    [InlineData(AcknowledgementOrder.Any)]
    public async Task Sink_RefusesResults_TheyAreDeadLettersAndTheOthersAreWritten(AcknowledgementOrder order)
    {
        var source = new ListSource(order, Batch(0, 3), Batch(1, 1), Batch(2, 2));
        var sink = new FussySink(1, 100, 200, 201);
        await using var runtime = new ConcurrentRuntime(4);
        WorkHost<int> host = WorkHost.Create(
            source,
            runtime,
            static (item, _) => new ValueTask<string>($"{item.Value}"),
            sink,
            new WorkHostOptions<int> { DeadLetters = _dead, Serializer = IntSerializer.Instance });
        await host.RunAsync().WithinAsync();
        Assert.Equal(["0", "2"], sink.Written);
        Assert.Equal(order == AcknowledgementOrder.Delivery ? "2" : null, sink.Position);
        Assert.Equal(["0", "1", "2"], source.Acknowledged.Order());
        Assert.Equal((6, 4, 0), (host.Statistics.Succeeded, host.Statistics.DeadLettered, host.Statistics.Faults));
        foreach (string id in new[] { "0/1", "1/0", "2/0", "2/1" })
        {
            DeadLetter letter = Assert.IsType<DeadLetter>(await _dead.FindAsync(id));
            Assert.Equal((DeadLetterReason.TooLarge, "Too long."), (letter.Reason, letter.Error));
            Assert.Equal(sink.Refused.Single(r => r.Id == id).Value, $"{IntSerializer.Instance.Read(letter.Payload.Span)}");
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Sink_RefusesNoItemThatItGot_EndsTheHost()
    {
        var source = new ListSource(AcknowledgementOrder.Any, Batch(0, 1)) { Ends = false };
        await using var runtime = new ConcurrentRuntime(1);
        WorkHost<int> host = WorkHost.Create(
            source,
            runtime,
            static (item, _) => new ValueTask<string>($"{item.Value}"),
            new RecordedSink { OnWrite = static () => throw new WorkRefusedException([new WorkRefusal(7, DeadLetterReason.Rejected, "Which one?")]) },
            new WorkHostOptions<int> { DeadLetters = _dead, Serializer = IntSerializer.Instance });
        Assert.Equal("Which one?", (await Assert.ThrowsAsync<WorkRefusedException>(() => host.RunAsync().WithinAsync())).Message);
        Assert.Equal(["0"], source.Returned);
    }

    /// <summary>A sink that refuses some values, one call at a time those that it finds.</summary>
    private sealed class FussySink(params int[] values) : IWorkSink<string>
    {
        public List<string> Written { get; } = [];

        public ConcurrentQueue<(string Id, string Value)> Refused { get; } = [];

        public string? Position { get; private set; }

        public ValueTask WriteAsync(IReadOnlyList<WorkItem<string>> items, string? position, CancellationToken cancellationToken)
        {
            for (int place = 0; place < items.Count; place++)
            {
                if (values.Any(v => $"{v}" == items[place].Value))
                {
                    Refused.Enqueue(($"{items[place].Id}", items[place].Value));
                    throw new WorkRefusedException([new WorkRefusal(place, DeadLetterReason.TooLarge, "Too long.")]);
                }
            }

            Written.AddRange(items.Select(static i => i.Value));
            Position = position;
            return default;
        }

        public ValueTask DisposeAsync() => default;
    }
}
