namespace Weir.Cli.Hosting;

/// <summary>The user's input cannot be used. The message is one sentence that names the option or variable and what it may be.</summary>
internal sealed class BadInputException(string message) : Exception(message);
