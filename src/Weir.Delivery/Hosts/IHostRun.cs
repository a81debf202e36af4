namespace Weir.Delivery;

/// <summary>The run of a host, independent of the type of its results.</summary>
internal interface IHostRun
{
    WorkHostStatistics Statistics { get; }

    /// <summary>How many items were read and wait for their call.</summary>
    int Queued { get; }

    Task RunAsync(CancellationToken stop);

    void Abort();
}
