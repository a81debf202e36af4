namespace Weir.Delivery;

/// <summary>The run of a host, independent of the type of its results.</summary>
internal interface IHostRun
{
    WorkHostStatistics Statistics { get; }

    Task RunAsync(CancellationToken stop);

    void Abort();
}
