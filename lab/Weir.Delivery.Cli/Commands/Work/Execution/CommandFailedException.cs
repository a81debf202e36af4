namespace Weir.Delivery.Cli.Commands.Work.Execution;

/// <summary>A command that was run for items has failed. The message has its exit code and the end of what it wrote to its error output.</summary>
internal sealed class CommandFailedException(string message) : Exception(message);
