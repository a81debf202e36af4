namespace Weir.Resilience;

/// <summary>What becomes of a result that nobody will have: it is followed by another attempt, or came after its call was given up.</summary>
internal static class RefusedResult
{
    /// <summary>
    /// Disposes of a result that came too late, if it is disposable. Nobody waits for it, so that runs on the pool, and an exception from it is lost.
    /// </summary>
    /// <param name="result">The result. A task is left alone: it holds nothing, and may not have ended.</param>
    /// <param name="given">What the call was given. If it returned just that, it is its caller's, who still has it.</param>
    public static void DropLate(object? result, object? given)
    {
        if (result is (IAsyncDisposable or IDisposable) and not Task && !ReferenceEquals(result, given))
        {
            ThreadPool.UnsafeQueueUserWorkItem(static result => _ = DropQuietlyAsync(result), result, preferLocal: false);
        }
    }

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
