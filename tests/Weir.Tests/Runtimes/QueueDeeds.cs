namespace Weir.Tests.Runtimes;

/// <summary>Does what items of a queue do. They add others before they suspend or after, or in the middle.</summary>
internal static class QueueDeeds
{
    /// <summary>Whether an item fails: every third one of those that may.</summary>
    public static bool Fails(QueueDeed deed, int item) => deed is QueueDeed.Throws or QueueDeed.ThrowsLater && item % 3 == 0;

    public static async ValueTask<int> RunAsync(QueueDeed deed, int item, Action add)
    {
        switch (deed)
        {
            case QueueDeed.Computes:
                Thread.SpinWait(item % 4 == 0 ? 2_000 : 50);
                add();
                break;
            case QueueDeed.Blocks:
                using (ManualResetEventSlim opened = new())
                {
                    // A thread of its own opens it, because those of the pool may all be waiting here.
                    Thread opener = new(opened.Set);
                    opener.Start();
                    Assert.True(opened.Wait(TimeSpan.FromSeconds(60)));
                    opener.Join();
                }

                add();
                break;
            case QueueDeed.Suspends:
                await Task.Yield();
                add();
                await Task.Yield();
                break;
            case QueueDeed.ThrowsLater:
                add();
                await Task.Yield();
                break;
            default:
                add();
                break;
        }

        return Fails(deed, item) ? throw new TestException("item") : item;
    }
}
