namespace Weir.Core.Sinks;

/// <summary>What the consumer of a stream can tell the run that feeds it.</summary>
internal interface IRunHandle
{
    /// <summary>The caller has cancelled. The consumer may see this before the run does.</summary>
    void Cancel(CancellationToken by);

    /// <summary>The consumer has left: the run ends.</summary>
    void Abandon();

    /// <summary>Whether the run has failed. If so, the consumer gets the failure, even if the caller cancels afterwards.</summary>
    bool HasFailed { get; }

    /// <summary>The ceiling was raised: reading may continue.</summary>
    void Release();
}
