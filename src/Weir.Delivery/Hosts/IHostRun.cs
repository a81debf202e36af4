namespace Weir.Delivery;

/// <summary>The run of a host, whatever its results are.</summary>
internal interface IHostRun
{
    WorkHostStatistics Statistics { get; }

    Task RunAsync(CancellationToken stop);

    void Abort();
}
