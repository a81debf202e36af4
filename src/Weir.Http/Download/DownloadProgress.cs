namespace Weir.Http;

/// <summary>How far a download is.</summary>
/// <param name="Received">The bytes that the file has so far, those of earlier attempts and programs included.</param>
/// <param name="Total">The bytes that it will have; <see langword="null"/> if the server does not say.</param>
public readonly record struct DownloadProgress(long Received, long? Total);
