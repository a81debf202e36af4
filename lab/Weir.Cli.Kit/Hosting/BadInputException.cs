namespace Weir.Cli.Kit.Hosting;

/// <summary>The user's input cannot be used. The message is one sentence that names the option or variable and its allowed values.</summary>
internal sealed class BadInputException(string message) : Exception(message);
