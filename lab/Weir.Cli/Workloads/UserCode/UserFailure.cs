namespace Weir.Cli.Workloads.UserCode;

/// <summary>The message when a user's code throws outside the measurement.</summary>
internal static class UserFailure
{
    /// <summary>One sentence of what threw.</summary>
    public static InvalidOperationException Of(string what, Exception error) => new($"{what} failed with {error.GetType().Name}: {error.Message}", error);

    /// <summary>Calls the user's code, and reports failures.</summary>
    /// <exception cref="InvalidOperationException">It threw.</exception>
    /// <exception cref="OperationCanceledException">It was stopped.</exception>
    public static async ValueTask CallAsync(string what, Func<ValueTask> call, CancellationToken stop)
    {
        try
        {
            await call();
        }
        catch (Exception e) when (!(e is OperationCanceledException && stop.IsCancellationRequested))
        {
            throw Of(what, e);
        }
    }

    public static async ValueTask DisposeAsync(object? used)
    {
        if (used is IAsyncDisposable later)
        {
            await later.DisposeAsync();
        }
        else
        {
            (used as IDisposable)?.Dispose();
        }
    }
}
