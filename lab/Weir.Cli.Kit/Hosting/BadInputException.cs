namespace Weir.Cli.Kit.Hosting;

/// <summary>The user's input cannot be used. The message is one sentence that names the option or variable and its allowed values.</summary>
/// <remarks>Whatever reads what the user gave throws it: options, values, names, files and addresses.</remarks>
internal sealed class BadInputException(string message) : Exception(message);
