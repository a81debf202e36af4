namespace Weir.Hosting;

/// <summary>A worker of the application. Get all of them as <c>IEnumerable&lt;IWeirWorker&gt;</c>, or one as a service with its name as the key.</summary>
/// <remarks>Thread-safe.</remarks>
public interface IWeirWorker
{
    /// <summary>The name, which is also that of its section in the configuration.</summary>
    string Name { get; }

    /// <summary>
    /// What it has done so far. Its state is <see cref="WorkHostState.Created"/> until its source is open, which takes as long as the server is unavailable.
    /// </summary>
    WorkHostStatistics Statistics { get; }

    /// <summary>
    /// Stops the worker without a grace period, or ends the grace period of one that is stopping: running items are cancelled and returned. The application
    /// goes on.
    /// </summary>
    void Abort();
}
