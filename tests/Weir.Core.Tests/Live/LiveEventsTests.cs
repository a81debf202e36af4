using System.Collections.Concurrent;
using System.Diagnostics.Tracing;
using System.Text;
using Weir.Core.Live;
using Weir.Observability;

namespace Weir.Core.Tests.Live;

/// <summary>The event source of snapshots, as a listener in this process has it. How it is read from outside, is tested with <c>weir top</c>.</summary>
public sealed class LiveEventsTests
{
    [Fact(Timeout = 90_000)]
    public async Task Source_WhileItIsOn_WritesSnapshotsThatAreWatched()
    {
        LiveEvents.Create();
        using Listener listener = new("0.2");
        await Guard.UntilAsync(() => listener.Snapshots.Any(static s => s.IsWatched), "a snapshot");
        Assert.All(listener.Snapshots, static s => Assert.Equal(Environment.ProcessId, s.ProcessId));
    }

    [Theory(Timeout = 90_000)]
    [InlineData(null)]
    [InlineData("-1")]
    [InlineData("often")]
    public async Task Source_IntervalThatIsNone_IsTakenAsTheUsualOne(string? interval)
    {
        LiveEvents.Create();
        using Listener listener = new(interval);
        await Guard.UntilAsync(() => !listener.Snapshots.IsEmpty, "a snapshot");
    }

#if DEBUG
    [Fact(Timeout = 90_000)]
    public async Task Source_LookFails_TheNextOneIsTaken()
    {
        LiveEvents.Create();
        using FaultPlaces places = new(static (_, owner) => owner is LiveEvents);
        places.FailAt(1);
        using Listener listener = new("0.2");
        await Guard.UntilAsync(() => places.HasFailed && !listener.Snapshots.IsEmpty, "a snapshot after a failure");
    }
#endif

    private sealed class Listener : EventListener
    {
        private readonly string? _interval;
        private readonly StringBuilder _parts = new();

        public Listener(string? interval)
        {
            _interval = interval;
            foreach (EventSource source in EventSource.GetSources())
            {
                Enable(source);
            }
        }

        public ConcurrentQueue<WeirSnapshot> Snapshots { get; } = [];

        protected override void OnEventWritten(EventWrittenEventArgs eventData)
        {
            if (eventData is { EventSource.Name: LiveEvents.SourceName, EventId: 1, Payload: [string json, int, int rest] })
            {
                lock (_parts)
                {
                    _parts.Append(json);
                    if (rest == 0)
                    {
                        Snapshots.Enqueue(WeirSnapshot.FromJson(Encoding.UTF8.GetBytes(_parts.ToString())));
                        _parts.Clear();
                    }
                }
            }
        }

        private void Enable(EventSource source)
        {
            if (source.Name == LiveEvents.SourceName)
            {
                EnableEvents(source, EventLevel.Informational, EventKeywords.None, _interval is null ? null : new Dictionary<string, string?> { ["Interval"] = _interval });
            }
        }
    }
}
