namespace Weir.Lab.Results;

/// <summary>A file or text holds no result that this program reads. The message is one sentence that names the file.</summary>
/// <param name="message">What is wrong, and with which file.</param>
/// <param name="inner">The exception of the reader; <see langword="null"/> for none.</param>
public sealed class ResultFileException(string message, Exception? inner = null) : IOException(message, inner);
