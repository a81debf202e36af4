namespace Weir.Dataflow.Tests.Probes;

/// <summary>Shows, as far as that can be shown, that something does not happen.</summary>
/// <remarks>
/// No clock decides. What would happen is on its way through the pool, or follows from that: so everything that is queued there gets its turn, and what that
/// queues in turn, some steps deep. On a busy machine this takes longer, and shows as much.
/// </remarks>
public static class Never
{
    private const int Steps = 16;

    public static void True(Func<bool> condition, string? what = null)
    {
        for (int step = 0; step < Steps; step++)
        {
            Assert.False(condition(), what ?? "It happened.");
            using ManualResetEventSlim passed = new();
            ThreadPool.UnsafeQueueUserWorkItem(static passed => passed.Set(), passed, preferLocal: false);
            Assert.True(passed.Wait(Eventually.Patience), "The pool came to a halt.");
        }

        Assert.False(condition(), what ?? "It happened.");
    }
}
