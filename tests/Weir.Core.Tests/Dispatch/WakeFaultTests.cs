#if DEBUG
using Weir.Core.Dispatch;

namespace Weir.Core.Tests.Dispatch;

/// <summary>What wakes a reader or tells of a change fails once, with no caller above it: nobody waits for ever, and the next time works.</summary>
public sealed class WakeFaultTests
{
    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Queue_WakingFails_ReaderGoesOn(bool atTheEnd)
    {
        using FaultPlaces places = new(static (place, _) => place.StartsWith("WorkQueue.cs:", StringComparison.Ordinal));
        WorkQueue<int> queue = new();
        using IDisposable open = queue.KeepOpen();
        Task<bool> waiting = queue.WaitAsync(CancellationToken.None).AsTask();

        // Also those of other tests, which do not mind.
        places.FailAt(1, failures: 1_000);
        if (atTheEnd)
        {
            open.Dispose();
        }
        else
        {
            queue.Add(1);
        }

        Assert.Equal(!atTheEnd, await waiting.WithinAsync());
        Assert.True(places.HasFailed);
    }

    [Fact(Timeout = 90_000)]
    public async Task Notification_Fails_NextOneTellsOfBothChanges()
    {
        TaskCompletionSource<(int Before, int Now)> told = new();
        AdaptiveNotifier notifier = new(
            (before, now) =>
            {
                told.TrySetResult((before, now));
                return default;
            },
            1);

        // Not those of other tests, which run at the same time.
        using FaultPlaces places = new((_, owner) => owner == notifier);
        places.FailAt(1);
        notifier.Changed(2);
        await Guard.UntilAsync(() => places.HasFailed, "the fault");

        // Its thread may not have left the place: changes before that are told with the next one.
        await Guard.UntilAsync(
            () =>
            {
                notifier.Changed(3);
                return told.Task.IsCompleted;
            },
            "what is told");
        Assert.Equal((1, 3), await told.Task.WithinAsync());
    }
}
#endif
