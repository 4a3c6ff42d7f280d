# Completion of countersign for PowerShell: add this to $PROFILE:
#   countersign completion powershell | Out-String | Invoke-Expression

Register-ArgumentCompleter -Native -CommandName 'countersign', 'countersign.exe' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.StartOffset -lt $cursorPosition } | ForEach-Object {
        if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text }
    })
    # An empty word is lost on its way to a program.
    $next = @()
    if ($wordToComplete -eq '') { $next = @('--next') }
    $program = $commandAst.CommandElements[0].Extent.Text.Trim('"', "'")
    foreach ($line in @(& $program complete @next -- @words 2>$null)) {
        if ($line -eq ':files' -or $line -eq ':folders') {
            [System.Management.Automation.CompletionCompleters]::CompleteFilename("$wordToComplete".Trim('"', "'"))
            continue
        }
        $value, $text = $line -split "`t", 2
        if (-not $text) { $text = $value }
        [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $text)
    }
}
