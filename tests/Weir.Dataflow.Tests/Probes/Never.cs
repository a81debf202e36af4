namespace Weir.Dataflow.Tests.Probes;

/// <summary>Shows, as far as that can be shown, that something does not happen.</summary>
public static class Never
{
    private static readonly TimeSpan Watch = TimeSpan.FromMilliseconds(20);

    /// <summary>Watches for a moment; for what would happen on another thread at once if it were going to happen.</summary>
    public static void True(Func<bool> condition, string? what = null) =>
        Assert.False(SpinWait.SpinUntil(condition, Watch), what ?? "It happened.");
}
