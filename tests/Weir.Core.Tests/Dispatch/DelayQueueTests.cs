using Weir.Core.Dispatch;
using Weir.Core.Sources;
using Weir.Core.Threads;

namespace Weir.Core.Tests.Dispatch;

public class DelayQueueTests
{
    private readonly ManualTimeProvider _time = new();
    private readonly Source<int> _source = SourceOf.Enumerable(Array.Empty<int>());
    private readonly Run _run = new();
    private int _due;

    [Fact]
    public void Items_DueAtDifferentTimes_ComeBackEachAtItsOwn()
    {
        using DelayQueue<int> queue = Queue();
        Assert.True(Add(queue, index: 0, seconds: 3));
        Assert.True(Add(queue, index: 1, seconds: 1));
        Assert.True(Add(queue, index: 2, seconds: 2));
        for (int second = 1; second <= 3; second++)
        {
            _time.Advance(TimeSpan.FromSeconds(1) - TimeSpan.FromTicks(1));
            Assert.Equal(second - 1, _due);
            _time.Advance(TimeSpan.FromTicks(1));
            Assert.Equal(second, _due);
        }

        Assert.Equal([(0, 1), (1, 1), (2, 1)], _source.LeftOver());
        Assert.Equal(0, _time.ArmedTimers);
    }

    [Fact]
    public void Close_WithItemsWaiting_ReturnsThemAndLeavesNoTimer()
    {
        DelayQueue<int> queue = Queue();
        Assert.True(Add(queue, index: 0, seconds: 1));
        Assert.True(Add(queue, index: 1, seconds: 2));
        _time.Advance(TimeSpan.FromSeconds(1));

        Assert.Equal([1L], queue.Close().Select(static c => c.FirstIndex));
        Assert.Equal(0, _time.LiveTimers);
        Assert.False(Add(queue, index: 2, seconds: 1));
        Assert.Equal((1, 0), (_due, _time.LiveTimers));
    }

    [Fact]
    public void Timer_ThatFails_FailsTheRunAndLeavesTheClockAlone()
    {
        DelayQueue<int> queue = new(_source, _time, static _ => throw new InsufficientMemoryException(), _run);
        Assert.True(Add(queue, index: 0, seconds: 1));
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.IsType<InsufficientMemoryException>(Assert.Single(_run.Failures));
    }

    private DelayQueue<int> Queue() => new(_source, _time, count => _due += count, _run);

    private bool Add(DelayQueue<int> queue, long index, int seconds)
    {
        Chunk<int> chunk = default;
        chunk.SetSingle(0, index);
        return queue.TryAdd(chunk, _time.GetTimestamp() + TimeSpan.FromSeconds(seconds).Ticks, until: null);
    }

    private sealed class Run : IUnattended
    {
        public List<Exception> Failures { get; } = [];

        public void WorkFailed(Exception error) => Failures.Add(error);
    }
}
