using Microsoft.Extensions.Logging;

namespace Weir.Logging.Tests;

/// <summary>One log line.</summary>
internal sealed record KeptLine(string Category, LogLevel Level, int Id, string Text, Exception? Error, Dictionary<string, object?> Fields);
