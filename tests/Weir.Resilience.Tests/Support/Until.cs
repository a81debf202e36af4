namespace Weir.Resilience.Tests;

/// <summary>Gives way to other work until something holds. The test's own time limit ends it when it never does.</summary>
internal static class Until
{
    public static async Task TrueAsync(Func<bool> condition)
    {
        while (!condition())
        {
            TestContext.Current.CancellationToken.ThrowIfCancellationRequested();
            await Task.Yield();
        }
    }
}
