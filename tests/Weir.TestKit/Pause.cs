namespace Weir.TestKit;

/// <summary>The one place where tests let real time pass: a few milliseconds, to look again.</summary>
internal static class Pause
{
    public static async Task ShortAsync()
    {
        await Task.Yield();
        await Task.Delay(TimeSpan.FromMilliseconds(5), TimeProvider.System).ConfigureAwait(false);
    }
}
