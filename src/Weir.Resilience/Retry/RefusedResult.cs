namespace Weir.Resilience;

/// <summary>What becomes of a result that is followed by another attempt.</summary>
internal static class RefusedResult
{
    /// <summary>Disposes of it, if it is disposable: nobody else will ever have it.</summary>
    public static ValueTask DropAsync(object? result)
    {
        switch (result)
        {
            case IAsyncDisposable disposable:
                return disposable.DisposeAsync();
            case IDisposable disposable:
                disposable.Dispose();
                return default;
            default:
                return default;
        }
    }

    /// <summary>The same where nobody hears of an exception, because there is an error that came first.</summary>
    public static async Task DropQuietlyAsync(object? result)
    {
        try
        {
            await DropAsync(result).ConfigureAwait(false);
        }
        catch (Exception)
        {
            // See above.
        }
    }
}
