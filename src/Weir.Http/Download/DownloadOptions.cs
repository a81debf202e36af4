using Weir.Resilience;

namespace Weir.Http;

/// <summary>How a <see cref="ResumableDownload"/> waits and tries again. Immutable.</summary>
public sealed record DownloadOptions
{
    /// <summary>Which failures are followed by another attempt, how often, and after what delay.</summary>
    /// <value>
    /// The default is 5 retries with <see cref="BackoffStrategy.ExponentialJitter"/> from 500 ms. <see cref="RetryOptions.MaxRetries"/> counts attempts
    /// <em>in a row</em> that brought nothing new: an attempt that got further than all before it starts the count again. Without an
    /// <see cref="RetryOptions.IsTransient"/> of your own, <see cref="HttpRetry.IsTransient(Exception)"/> decides, and without a
    /// <see cref="RetryOptions.DelayHint"/>, <see cref="HttpRetry.RetryAfter(Exception)"/> does.
    /// </value>
    public RetryOptions Retry { get; init; } = new()
    {
        MaxRetries = 5,
        BaseDelay = TimeSpan.FromMilliseconds(500),
        BackoffStrategy = BackoffStrategy.ExponentialJitter,
    };

    /// <summary>How long the server may send nothing before the attempt fails with a <see cref="TimeoutException"/>.</summary>
    /// <value>
    /// More than zero and at most 2^32 - 2 ms, or <see langword="null"/> for no limit. The default is 30 seconds. It applies to the wait for the response, and
    /// to each wait for the next bytes, so a large file may take as long as it needs. The time in which the file is written does not count.
    /// </value>
    public TimeSpan? ReadTimeout { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>Whether a file that has the name of the download is replaced.</summary>
    /// <value>
    /// The default is <see langword="true"/>. With <see langword="false"/>, such a file is refused with an <see cref="IOException"/>: before anything is asked
    /// for, and again when the download is complete, without a moment in which another program could make one. In the second case the part stays.
    /// </value>
    public bool Overwrite { get; init; } = true;

    /// <summary>The clock for delays and time limits.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal void Validate()
    {
        ArgumentNullException.ThrowIfNull(Retry);
        ArgumentNullException.ThrowIfNull(TimeProvider);
        Require.Positive(ReadTimeout, nameof(ReadTimeout));
    }
}

/// <summary>A finished download.</summary>
/// <param name="Path">The full path of the file.</param>
/// <param name="Length">Its length in bytes.</param>
/// <param name="Resumed">The bytes that an earlier call or program had left behind and that were not transferred again.</param>
/// <param name="Retries">The attempts after the first one, in this call.</param>
public sealed record DownloadedFile(string Path, long Length, long Resumed, int Retries);

/// <summary>How far a download is.</summary>
/// <param name="Received">The bytes that the file has so far, those of earlier attempts and programs included.</param>
/// <param name="Total">The bytes that it will have; <see langword="null"/> if the server does not say.</param>
public readonly record struct DownloadProgress(long Received, long? Total);
