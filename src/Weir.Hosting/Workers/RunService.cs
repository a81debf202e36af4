using Microsoft.Extensions.Hosting;

namespace Weir.Hosting;

/// <summary>
/// A background service that processes the items of a source without a queue, such as a channel: with a limit and policies, a health that can be checked, and a
/// soft stop. Derive from it, and register it with <c>AddHostedService</c>.
/// </summary>
/// <typeparam name="T">The type of the items.</typeparam>
/// <remarks>
/// When the application stops, nothing more is read, and running items may end until the host's <c>ShutdownTimeout</c> has passed: then their token is
/// cancelled. Items that were not begun stay in their source. When the source ends, the service has ended. What the run throws ends the service, and the
/// application unless its <c>BackgroundServiceExceptionBehavior</c> says otherwise; the exit code of the process is then 1.
/// </remarks>
/// <param name="health">Watches the run; add it to the health checks with <see cref="WeirRunHealthExtensions.AddWeirRun"/>.</param>
public abstract class RunService<T>(RunHealth health) : BackgroundService
{
    // Never disposed: without a timer it holds nothing.
    private readonly CancellationTokenSource _abort = new();

    /// <summary>The options of the run, without a control.</summary>
    /// <value>The default goes on when an item fails (<see cref="ErrorMode.BestEffort"/>): the health check counts the failures.</value>
    protected virtual ParallelRunOptions Options => new() { ErrorMode = ErrorMode.BestEffort };

    /// <inheritdoc/>
    public override async Task StopAsync(CancellationToken cancellationToken)
    {
        using (cancellationToken.UnsafeRegister(static service => ((RunService<T>)service!).TryAbort(), this))
        {
            await base.StopAsync(cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>Gets the items.</summary>
    /// <returns>
    /// The source, which is read as items are wanted. It may be endless: the token of its enumerator, such as that of <c>ReadAllAsync</c> of a channel, is
    /// cancelled when the application stops.
    /// </returns>
    protected abstract IAsyncEnumerable<T> GetItems();

    /// <summary>Processes an item, several at a time.</summary>
    /// <param name="item">The item.</param>
    /// <param name="cancellationToken">Cancelled at the item's time limit, and when the time for the stop has passed.</param>
    /// <returns>A task that completes when the item is done.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    protected abstract ValueTask ProcessAsync(T item, CancellationToken cancellationToken);

    /// <inheritdoc/>
    protected sealed override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        ParallelRunOptions options = health.Watch(Options);
        using (stoppingToken.UnsafeRegister(static control => TryAbort((RunControl)control!), options.Control))
        {
            try
            {
                await GetItems().ForEachParallelAsync(ProcessAsync, options, _abort.Token).ConfigureAwait(false);
            }
            catch (OperationCanceledException) when (_abort.IsCancellationRequested)
            {
                // Its time to stop has passed.
            }
            catch (Exception)
            {
                // As for a worker: the host stops as it does at the end of a day's work, and whoever started the process sees only this.
                Environment.ExitCode = 1;
                throw;
            }
        }
    }

    // Both are called where nobody would catch what a user's callback throws.
    private void TryAbort() => Try(_abort.Cancel);

    private static void TryAbort(RunControl control) => Try(control.Stop);

    private static void Try(Action action)
    {
        try
        {
            action();
        }
        catch (Exception)
        {
            // What was to be told has been told.
        }
    }
}
