namespace Weir.Http;

/// <summary>A finished download.</summary>
/// <param name="Path">The full path of the file.</param>
/// <param name="Length">Its length in bytes.</param>
/// <param name="Resumed">The bytes that an earlier call or program had left behind and that were not transferred again.</param>
/// <param name="Retries">The attempts after the first one, in this call.</param>
public sealed record DownloadedFile(string Path, long Length, long Resumed, int Retries);
